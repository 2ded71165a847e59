// Four threads allocate with mimalloc or jemalloc, which is linked in. Says what the function `work` asked for, as a trace must have
// it: "allocated COUNT BYTES", "live COUNT". With an argument it says "ready" and waits for a line first.
use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

#[cfg(feature = "mimalloc")]
const INNER: mimalloc::MiMalloc = mimalloc::MiMalloc;
#[cfg(feature = "mimalloc")]
type Inner = mimalloc::MiMalloc;
#[cfg(feature = "jemalloc")]
const INNER: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
#[cfg(feature = "jemalloc")]
type Inner = tikv_jemallocator::Jemalloc;

struct Counting(Inner);
static COUNT: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
static LIVE: AtomicI64 = AtomicI64::new(0);
thread_local!(static AT_WORK: Cell<bool> = const { Cell::new(false) });

fn add(size: usize, live: i64) {
    if AT_WORK.get() {
        COUNT.fetch_add((size != 0) as u64, Relaxed);
        BYTES.fetch_add(size as u64, Relaxed);
        LIVE.fetch_add(live, Relaxed);
    }
}

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, l: Layout) -> *mut u8 {
        add(l.size(), 1);
        self.0.alloc(l)
    }
    unsafe fn alloc_zeroed(&self, l: Layout) -> *mut u8 {
        add(l.size(), 1);
        self.0.alloc_zeroed(l)
    }
    unsafe fn dealloc(&self, p: *mut u8, l: Layout) {
        add(0, -1);
        self.0.dealloc(p, l)
    }
    unsafe fn realloc(&self, p: *mut u8, l: Layout, size: usize) -> *mut u8 {
        add(size, 0);
        self.0.realloc(p, l, size)
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting(INNER);

#[no_mangle]
#[inline(never)]
pub fn work(n: usize) {
    AT_WORK.set(true);
    let mut kept: Vec<Box<[u8]>> = Vec::new();
    let mut text = String::new();
    for i in 0..n {
        kept.push(vec![(i & 1) as u8; 16 + i % 3000].into_boxed_slice());
        text.push_str("some more text ");
        if i % 3 == 0 {
            kept.swap_remove(i / 2 % kept.len());
        }
    }
    std::mem::forget(kept);
    drop(text);
    AT_WORK.set(false);
}

fn main() {
    if std::env::args().len() > 1 {
        println!("ready");
        std::io::stdin().read_line(&mut String::new()).unwrap();
    }
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(|| work(std::hint::black_box(20000)))).collect();
    for t in threads {
        t.join().unwrap();
    }
    println!("allocated {} {}\nlive {}", COUNT.load(Relaxed), BYTES.load(Relaxed), LIVE.load(Relaxed));
}

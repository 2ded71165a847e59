// Goroutines that call C, each from a depth of its own.
package main

/*
#include <stdlib.h>
static __attribute__((noinline)) void allocate(int n) { void *volatile p = malloc(n); free(p); }
*/
import "C"
import "fmt"

//go:noinline
func handle(i int) { C.allocate(C.int(100 + i%10)) }

//go:noinline
func serve(depth, n int) {
	if depth > 0 {
		serve(depth-1, n)
		return
	}
	for i := 0; i < n; i++ {
		handle(i)
	}
}

func main() {
	done := make(chan bool)
	for g := 0; g < 4; g++ {
		go func(g int) {
			serve(g*100, 8000)
			done <- true
		}(g)
	}
	for g := 0; g < 4; g++ {
		<-done
	}
	serve(1, 8000)
	fmt.Println("done")
}

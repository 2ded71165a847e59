/* Functions of each form of entry, whose results depend on what moves; and a driver that shows
 * what a hook sees. All take two numbers and return one, except where said. */
	.text
	.macro function name
	.p2align 4
	.globl \name
	.type \name, @function
\name:
	.endm
	.macro ends name
	.size \name, . - \name
	.endm

	function form_pushes
	push %r12
	push %rbp
	push %rbx
	sub $16, %rsp
	lea (%rdi,%rsi,2), %rbx
	mov %rbx, %rax
	add $16, %rsp
	pop %rbx
	pop %rbp
	pop %r12
	ret
	ends form_pushes

	function form_test_je
	test %rdi, %rdi
	je 1f
	lea 7(%rsi), %rax
	ret
1:	mov $-1, %rax
	ret
	ends form_test_je

	function form_test_je_long
	test %rdi, %rdi
	.byte 0x0f, 0x84
	.long 1f - . - 4
	lea 7(%rsi), %rax
	ret
1:	mov $-1, %rax
	ret
	ends form_test_je_long

	function form_cmpb
	cmpb $5, byte(%rip)
	je 1f
	xor %eax, %eax
	ret
1:	lea (%rdi,%rsi), %rax
	ret
	ends form_cmpb

	function form_cmp_ja_lea
	cmp %rdi, %rsi
	ja 1f
	lea words(%rip), %rax
	mov 8(%rax), %rax
	ret
1:	lea words(%rip), %rax
	mov (%rax), %rax
	ret
	ends form_cmp_ja_lea

	function form_mov_rip_fs
	mov offset(%rip), %rax
	mov %fs:(%rax), %rax
	mov %fs:0, %rcx
	sub %rcx, %rax
	add %rdi, %rax
	ret
	ends form_mov_rip_fs

	function form_mov_fs
	mov %fs:0, %rax
	sub %fs:0, %rax
	add %rsi, %rax
	ret
	ends form_mov_fs

	function form_endbr
	endbr64
	push %rbx
	mov %rdi, %rbx
	sub %rsi, %rbx
	mov %rbx, %rax
	pop %rbx
	ret
	ends form_endbr

	function form_endbr_itself /* calls itself by a jump to the endbr64 */
	endbr64
	lea 1(%rsi), %rsi
	sub $1, %rdi
	jns form_endbr_itself
	mov %rsi, %rax
	ret
	ends form_endbr_itself

	function form_recursive
	sub $8, %rsp
	test %rdi, %rdi
	jne 1f
	mov %rsi, %rax
	jmp 2f
1:	dec %rdi
	call form_recursive
	inc %rax
2:	add $8, %rsp
	ret
	ends form_recursive

	function form_short_padded
	mov %edi, %eax
	ret
	.byte 0x0f, 0x1f, 0x44, 0, 0
	ends form_short_padded

	function form_table
	jmp *pointer(%rip)
	ends form_table

	function form_lock
	test %esi, %esi
	je 1f
	lock
1:	xadd %rdi, scratch(%rip)
	mov %rdi, %rax
	ret
	ends form_lock

	function form_vector
	vmovq numbers(%rip), %xmm0
	vmovq %xmm0, %rax
	add %rdi, %rax
	ret
	ends form_vector

	function form_alias
	jmp form_pushes
	ends form_alias

	function form_call
	call form_pushes
	lea 3(%rax), %rax
	ret
	ends form_call

	function form_late_call /* its flags must not change before the call */
	sub $8, %rsp
	call form_pushes
	add $8, %rsp
	ret
	ends form_late_call

	/* refused */
	function form_indirect_call
	push %rax
	call *%rax
	pop %rax
	ret
	ends form_indirect_call
	function form_short
	mov %edi, %eax
	ret
	ends form_short
	.byte 0x55

	function form_loop
	xor %eax, %eax
1:	inc %rax
	cmp %rdi, %rax
	jb 1b
	ret
	ends form_loop

/* spy_drive() calls spy() with the registers and flags of spy_given; spy and its hook spy_hook
 * write down what they find, without changing anything. */
	.macro record to
	mov %rax, \to+0(%rip)
	mov %rbx, \to+8(%rip)
	mov %rcx, \to+16(%rip)
	mov %rdx, \to+24(%rip)
	mov %rsi, \to+32(%rip)
	mov %rdi, \to+40(%rip)
	mov %rbp, \to+48(%rip)
	mov %rsp, \to+56(%rip)
	mov %r8, \to+64(%rip)
	mov %r9, \to+72(%rip)
	mov %r10, \to+80(%rip)
	mov %r11, \to+88(%rip)
	mov %r12, \to+96(%rip)
	mov %r13, \to+104(%rip)
	mov %r14, \to+112(%rip)
	mov %r15, \to+120(%rip)
	pushf
	pop \to+128(%rip)
	.endm

	function spy
	record spy_function_saw
	ret
	ends spy

	function spy_hook
	endbr64
	record spy_hook_saw
	jmp *spy_original(%rip)
	ends spy_hook

	function spy_drive
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	push spy_given+128(%rip)
	popf
	mov spy_given+0(%rip), %rax
	mov spy_given+8(%rip), %rbx
	mov spy_given+16(%rip), %rcx
	mov spy_given+24(%rip), %rdx
	mov spy_given+32(%rip), %rsi
	mov spy_given+40(%rip), %rdi
	mov spy_given+48(%rip), %rbp
	mov spy_given+64(%rip), %r8
	mov spy_given+72(%rip), %r9
	mov spy_given+80(%rip), %r10
	mov spy_given+88(%rip), %r11
	mov spy_given+96(%rip), %r12
	mov spy_given+104(%rip), %r13
	mov spy_given+112(%rip), %r14
	mov spy_given+120(%rip), %r15
	call spy
	push $0x202
	popf
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret
	ends spy_drive

	.data
	.p2align 3
	.globl spy_given, spy_hook_saw, spy_function_saw, spy_original, scratch
spy_given: .skip 136
spy_hook_saw: .skip 136
spy_function_saw: .skip 136
spy_original: .quad 0
offset: .quad 0
words: .quad 11, 13
numbers: .quad 17
pointer: .quad form_pushes
scratch: .quad 0
byte: .byte 5
	.section .note.GNU-stack, "", @progbits

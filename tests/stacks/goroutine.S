/* What Go's runtime does when it calls C, as runtime.asmcgocall does it: on the thread's stack, from another one. None of
 * this has call frame information, all of it keeps a frame pointer, and a note says that Go has linked it. */
	.section .note.go.buildid, "a", @note
	.align 4
	.long 4, 4, 4
	.asciz "Go\0"
	.asciz "id.\0"

	.bss
	.align 8
thread_sp:
	.skip 8

	.text
	.globl goroutine_run, goroutine_serve, goroutine_handle, goroutine_call

/* (goroutine, C function): frames in between, with a page between them. */
	.type goroutine_handle, @function
goroutine_handle:
	push %rbp
	mov %rsp, %rbp
	sub $4096, %rsp
	call goroutine_call
	leave
	ret
	.size goroutine_handle, .-goroutine_handle

	.type goroutine_serve, @function
goroutine_serve:
	push %rbp
	mov %rsp, %rbp
	sub $24, %rsp
	call goroutine_handle
	leave
	ret
	.size goroutine_serve, .-goroutine_serve

/* (goroutine, C function): the outermost frame on the goroutine's stack; calls serve. */
	.type goroutine_run, @function
goroutine_run:
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	sub $8, %rsp
	mov %rsp, thread_sp(%rip)
	mov 8(%rdi), %rsp
	xor %ebp, %ebp
	call goroutine_serve
	mov thread_sp(%rip), %rsp
	add $8, %rsp
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret
	.size goroutine_run, .-goroutine_run

/* (goroutine, C function): which may move the goroutine. */
	.type goroutine_call, @function
goroutine_call:
	push %rbp
	mov %rsp, %rbp
	mov %rsp, %rdx
	mov thread_sp(%rip), %rsp
	sub $16, %rsp
	and $-16, %rsp
	mov %rdi, 8(%rsp)
	mov 8(%rdi), %rax
	sub %rdx, %rax
	mov %rax, 0(%rsp)
	call *%rsi
	mov 8(%rsp), %rdi
	mov 8(%rdi), %rax
	sub 0(%rsp), %rax
	mov %rax, %rsp
	pop %rbp
	ret
	.size goroutine_call, .-goroutine_call
	.section .note.GNU-stack, "", @progbits

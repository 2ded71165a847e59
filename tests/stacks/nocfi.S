/* Functions without call frame information that call the one they are given: with a frame pointer; with a register that
 * is none where the frame pointer would be; with 0 there. */
	.text
	.globl framed, zeroed, clobbered
framed:
	push %rbp
	mov %rsp, %rbp
	sub $48, %rsp
	call *%rdi
	leave
	ret
zeroed:
	push %rbp
	xor %ebp, %ebp
	sub $48, %rsp
	call *%rdi
	add $48, %rsp
	pop %rbp
	ret
clobbered:
	push %rbp
	mov $0x123456789, %rbp
	sub $48, %rsp
	call *%rdi
	add $48, %rsp
	pop %rbp
	ret
	.section .note.GNU-stack, "", @progbits

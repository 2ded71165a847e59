# A 32-bit dynamic linker that does nothing but write the environment that it is given.
	.globl _start
_start:
	mov (%esp), %eax
	lea 8(%esp,%eax,4), %esi
1:	mov (%esi), %ecx
	test %ecx, %ecx
	jz 4f
	mov %ecx, %edx
2:	cmpb $0, (%edx)
	je 3f
	inc %edx
	jmp 2b
3:	movb $10, (%edx)
	inc %edx
	sub %ecx, %edx
	mov $4, %eax
	mov $1, %ebx
	int $0x80
	add $4, %esi
	jmp 1b
4:	mov $1, %eax
	mov $7, %ebx
	int $0x80

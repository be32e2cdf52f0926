#include "textflag.h"

// func call(number, a1, a2, a3, a4, a5, a6 uintptr) (result, errno uintptr)
TEXT ·call(SB), NOSPLIT|NOFRAME, $0-72
	MOVQ	a1+8(FP), DI
	MOVQ	a2+16(FP), SI
	MOVQ	a3+24(FP), DX
	MOVQ	a4+32(FP), R10
	MOVQ	a5+40(FP), R8
	MOVQ	a6+48(FP), R9
	MOVQ	number+0(FP), AX
	POPQ	R13 // the way back; the kernel keeps this register
	SYSCALL
	PUSHQ	R13
	XORL	CX, CX
	CMPQ	AX, $-4095
	JCS	done // below, without a sign: a result
	MOVQ	AX, CX
	NEGQ	CX
	XORL	AX, AX
done:
	MOVQ	AX, result+56(FP)
	MOVQ	CX, errno+64(FP)
	RET

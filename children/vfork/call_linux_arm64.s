#include "textflag.h"

// func call(number, a1, a2, a3, a4, a5, a6 uintptr) (result, errno uintptr)
//
// The way back is in R30, and the kernel keeps it.
TEXT ·call(SB), NOSPLIT|NOFRAME, $0-72
	MOVD	number+0(FP), R8
	MOVD	a1+8(FP), R0
	MOVD	a2+16(FP), R1
	MOVD	a3+24(FP), R2
	MOVD	a4+32(FP), R3
	MOVD	a5+40(FP), R4
	MOVD	a6+48(FP), R5
	SVC
	MOVD	ZR, R1
	CMN	$4095, R0
	BCC	done // no carry: a result
	NEG	R0, R1
	MOVD	ZR, R0
done:
	MOVD	R0, result+56(FP)
	MOVD	R1, errno+64(FP)
	RET

#include "textflag.h"

TEXT libc_dlsym_trampoline<>(SB), NOSPLIT, $0-0
	JMP libc_dlsym(SB)

GLOBL ·dlsymAddress(SB), RODATA, $8
DATA ·dlsymAddress(SB)/8, $libc_dlsym_trampoline<>(SB)

//go:build unix

package childlog

import "syscall"

// noFollow keeps an open from following a link.
const noFollow = syscall.O_NOFOLLOW

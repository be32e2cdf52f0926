package sandbox

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// OnThread calls f on a thread that ends with it: what f does to the thread is done to
// no one else. The main thread, which cannot end, is spared.
func OnThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		f()
		return
	}
	// While this goroutine holds the main thread, no other one can be on it.
	locked := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		close(locked)
		f()
	}()
	<-locked
	runtime.UnlockOSThread()
}

package worker

// Signal wakes the goroutine that receives from c, a channel of capacity 1, now or as soon
// as it looks. It never blocks.
func Signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // one is waiting already
	}
}

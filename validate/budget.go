package validate

// A budget is the work that judging one call may still cost, in steps. It counts work and not time, so that the same
// call has the same answer on every machine. One call has one budget, which belongs to one goroutine. The zero value is
// spent.
type budget struct{ left int }

// What is done costs about as many steps as it takes tenths of a microsecond.
const (
	callSteps = 1 << 20 // what every call may cost
	byteSteps = 16      // what each byte of its arguments adds
	lookSteps = 16      // one look at the disk: Lstat, Readlink, Open
)

// newBudget is the budget of a call with arguments of some length.
func newBudget(size int) *budget { return &budget{left: callSteps + byteSteps*size} }

// spend takes steps off the budget before the work is done. It is false where the budget does not cover them: the work
// must not be done then, and the call is refused. What is spent stays spent.
func (b *budget) spend(steps int) bool {
	if b == nil || steps < 0 || b.left < steps {
		if b != nil {
			b.left = 0
		}
		return false
	}
	b.left -= steps
	return true
}

// spent reports that some work was refused, or that nothing is left for any.
func (b *budget) spent() bool { return b == nil || b.left == 0 }

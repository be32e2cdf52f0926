package budget

// A Budget is the work that judging one call may still cost, in steps. It counts work and not time, so that the same
// call has the same answer on every machine. One call has one budget, which belongs to one goroutine. The zero value is
// spent.
type Budget struct{ left int }

// What is done costs about as many steps as it takes tenths of a microsecond.
const (
	CallSteps  = 1 << 18 // what a call may cost whose arguments are no longer than CallBytes
	CallBytes  = 1 << 20 // longer ones cost in proportion
	LookSteps  = 16      // one look at the disk: Lstat, Readlink, Open
	FindSteps  = 16      // a string, or a part of one, that may be a path
	ReadSteps  = 4       // one way to read it
	JudgeSteps = 24      // what is kept of it for the verdict
	WordSteps  = 8       // a word of a shell string, or of another text
	ByteSteps  = 8       // bytes of text that are read again cost one step
)

// New returns the budget of a call with arguments of some length.
func New(size int) *Budget { return &Budget{left: CallSteps * max(size, CallBytes) / CallBytes} }

// Spend takes steps off the budget before the work is done. It is false if the budget does not cover them: the work
// must not be done then, and the call is refused. What is spent stays spent.
func (b *Budget) Spend(steps int) bool {
	if b == nil || steps < 0 || b.left < steps {
		if b != nil {
			b.left = 0
		}
		return false
	}
	b.left -= steps
	return true
}

// Spent reports that some work was refused, or that nothing is left for any.
func (b *Budget) Spent() bool { return b == nil || b.left == 0 }

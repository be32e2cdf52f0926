package seeds

import (
	"cmp"
	"flag"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// everyday is how many cases Check tries by itself.
const everyday = 100

// rapidFlags owns the flags of rapid, by which alone rapid takes a seed and a number of cases. rapid reads both before it tries the
// first case.
var rapidFlags sync.Mutex

func init() { setFlag("nofailfile", "true") }

// setFlag gives a flag of rapid a value, and returns the value that it had.
func setFlag(name, value string) string {
	f := flag.Lookup("rapid." + name).Value
	was := f.String()
	if err := f.Set(value); err != nil {
		panic(err) // rapid knows no such value
	}
	return was
}

// Check has rapid try a property on 100 cases, or on as many as MCPHUB_LONG_CASES says.
func Check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	CheckCases(t, Cases(t, everyday), property)
}

// CheckCases has rapid try a property on so many cases. It tries the same ones when it is called again: more cases take a larger
// number, and no loop. A seed that is given by -rapid.seed stands: it is what rapid itself prints
// for the one case that fails.
func CheckCases(t *testing.T, cases int, property func(*rapid.T)) {
	t.Helper()
	seed := cmp.Or(Rand(t).Uint64(), 1) // rapid takes 0 for "any"
	rapidFlags.Lock()
	checks, given := setFlag("checks", strconv.Itoa(cases)), setFlag("seed", strconv.FormatUint(seed, 10))
	if given != "0" {
		setFlag("seed", given)
	}
	haveBeenRead := sync.OnceFunc(func() {
		setFlag("checks", checks)
		setFlag("seed", given)
		rapidFlags.Unlock()
	})
	defer haveBeenRead()
	rapid.Check(t, func(t *rapid.T) {
		haveBeenRead()
		property(t)
	})
}

// Example draws one value; i numbers the values of a test.
func Example[V any](t testing.TB, of *rapid.Generator[V], i int) V {
	t.Helper()
	return of.Example(int(Rand(t, i).Int64()))
}

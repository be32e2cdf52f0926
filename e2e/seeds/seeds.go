package seeds

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
)

// The variables of the environment that this package reads.
const (
	seedVariable  = "MCPHUB_SEED"
	casesVariable = "MCPHUB_LONG_CASES"
)

// written is the seed of a process that is given none.
const written = 20_260_728

// ofProcess is the seed of this process.
var ofProcess = sync.OnceValues(func() (uint64, error) { return readSeed(os.Getenv(seedVariable)) })

func readSeed(value string) (uint64, error) {
	switch value {
	case "":
		return written, nil
	case "random":
		return rand.Uint64(), nil
	}
	seed, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf(`%s=%q is neither a number nor "random"`, seedVariable, value)
	}
	return seed, nil
}

// Rand draws the cases of a test. Each call begins the same series again; streams are numbers that name further series of the same
// test, as for goroutines that draw beside each other. If the test fails, it prints what repeats it: so a test passes its own t, and
// not the t of a subtest whose cases depend on what was drawn before it.
func Rand(t testing.TB, streams ...int) *rand.Rand {
	t.Helper()
	seed, err := ofProcess()
	if err != nil {
		t.Fatal(err)
	}
	printRepeat(t, seed)
	return mixSeed(seed, t.Name(), streams)
}

// mixSeed mixes a name and numbers into a seed.
func mixSeed(seed uint64, name string, streams []int) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, name, streams) // never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// Cases returns how many cases a test tries: few, a quarter of few with the race detector, or as many as MCPHUB_LONG_CASES says.
func Cases(t testing.TB, few int) int {
	t.Helper()
	value := os.Getenv(casesVariable)
	if value == "" {
		return (few + share - 1) / share
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is no number of cases", casesVariable, value)
	}
	return n
}

// Long reports whether MCPHUB_LONG_CASES is there.
func Long() bool { return os.Getenv(casesVariable) != "" }

//go:build !darwin

package proof

import "errors"

// Run refuses: there is no Seatbelt here.
func Run(func(in, program string) (string, error)) error {
	return errors.New("this system has no Seatbelt")
}

// Child makes no calls.
func Child() int { return 1 }

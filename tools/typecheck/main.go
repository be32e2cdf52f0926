// Typecheck reports what does not compile for other systems, in the packages of a module and in their tests:
//
//	typecheck MODULE GOOS...
//
// It checks the types of all that is imported from source, and compiles nothing. That takes seconds, and go vet minutes.
package main

import (
	"fmt"
	"os"

	"golang.org/x/tools/go/packages"
)

// few is fewer packages than the module has: something was not read.
const few = 100

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: typecheck MODULE GOOS...")
		os.Exit(2)
	}
	wrong := 0
	for _, goos := range os.Args[2:] {
		all, err := packages.Load(&packages.Config{
			Mode: packages.LoadAllSyntax, Dir: os.Args[1], Env: append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0"), Tests: true,
		}, "./...")
		if err != nil || len(all) < few {
			fmt.Fprintf(os.Stderr, "typecheck: %s: %d packages: %v\n", goos, len(all), err)
			os.Exit(1)
		}
		wrong += packages.PrintErrors(all)
	}
	if wrong > 0 {
		os.Exit(1)
	}
}

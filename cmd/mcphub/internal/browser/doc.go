// Package browser opens a page in the browser of the person at this machine.
//
// It opens http and https addresses only: what a system opens an address of another
// kind with is a program of the address's choice. No shell reads the address. The
// browser is left to itself. The package has no state.
package browser

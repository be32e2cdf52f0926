//go:build !unix

package main

import "errors"

func startMember(string, bool, bool) error { return startFamily() }

func startFamily() error {
	return errors.New("a rogue family needs sessions, which this system has not")
}

func playRole(string) int { return 2 }

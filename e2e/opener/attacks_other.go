//go:build !linux

package main

import "errors"

func attack(string, []string) (string, error) { return "", errors.ErrUnsupported }

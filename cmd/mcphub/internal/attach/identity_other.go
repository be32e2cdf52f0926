//go:build !unix

package attach

import "errors"

const noLink = 0

// fileIdentity is not needed if nothing attaches.
func fileIdentity() (string, error) { return "", errors.ErrUnsupported }

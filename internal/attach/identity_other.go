//go:build !unix

package attach

import "errors"

// identity is not needed where nothing attaches.
func identity() (string, error) { return "", errors.ErrUnsupported }

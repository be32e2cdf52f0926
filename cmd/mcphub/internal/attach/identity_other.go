//go:build !unix

package attach

import "errors"

const noLink = 0

// identity is not needed where nothing attaches.
func identity() (string, error) { return "", errors.ErrUnsupported }

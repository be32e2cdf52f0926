package hubfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"

	"mcphub/internal/atomicfile"
)

// MaxSize bounds a configuration, in bytes.
const MaxSize = 4 << 20

// ErrTooLarge means that there is more than that.
var ErrTooLarge = errors.New("is larger than 4MiB")

// ReadRegular reads a file, and nothing that would make it wait.
func ReadRegular(path string) ([]byte, error) {
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() && !fi.IsDir() {
		return nil, errors.New("is no regular file")
	}
	return Read(path)
}

// Read reads a file, or what a pipe brings.
func Read(path string) ([]byte, error) {
	f, err := atomicfile.Open(path, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, errors.New("is a folder; name the file in it")
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err == nil && len(data) > MaxSize {
		err = ErrTooLarge
	}
	return data, err
}

// Sum returns the SHA-256 of what was read, in hex.
func Sum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

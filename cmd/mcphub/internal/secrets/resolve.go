package secrets

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"mcphub/internal/ownership"
	"mcphub/internal/reference"
)

// maxEnvFile bounds an env file, in bytes.
const maxEnvFile = 256 << 10

// Resolve gives the value of a reference. Its error reports what to do, and no value.
// leads refuses a file by where its path leads: it is asked about the very file that is
// read, whatever has the name meanwhile; nil: any will do.
func (s *Store) Resolve(ctx context.Context, r reference.Ref, leads func(real string) error) (string, error) {
	switch r.Kind {
	case reference.Keyring, reference.Input:
		return s.Get(ctx, r.Name)
	case reference.File:
		return s.fileValue(r.Name, leads)
	case reference.EnvFile:
		raw, _, err := readRegular(r.Name, maxEnvFile, leads)
		return string(raw), err
	}
	return "", fmt.Errorf("%s is no reference to a secret", r)
}

// fileHelp is what to do if the file of a reference cannot be used.
const fileHelp = "put the secret into that file, or correct the path"

// fileValue returns the value of ${file:PATH}.
func (s *Store) fileValue(path string, leads func(string) error) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("${file:%s}: there is no hub.json whose folder it could start at; write an absolute path", path)
	}
	raw, info, err := readRegular(path, MaxValue, leads)
	if err != nil {
		return "", fmt.Errorf("${file:%s}: %w; %s", path, err, fileHelp)
	}
	if err := ownership.CheckPrivate(path, info); err != nil && s.o.Warn != nil {
		s.o.Warn(fmt.Sprintf("%s holds a secret: %s", path, err))
	}
	text := string(raw)
	if cut, ok := strings.CutSuffix(text, "\n"); ok {
		text = strings.TrimSuffix(cut, "\r")
	}
	switch {
	case text == "":
		return "", fmt.Errorf("${file:%s}: the file is empty; %s", path, fileHelp)
	case strings.ContainsRune(text, 0):
		return "", fmt.Errorf("${file:%s}: the file holds a NUL character, which no program can be given", path)
	}
	return text, nil
}

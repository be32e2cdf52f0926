package ownership

import (
	"fmt"
	"os"
)

// CheckFolder returns why a folder is not this user's alone.
func CheckFolder(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder; take it away", dir)
	}
	if err := Check(info); err != nil {
		return fmt.Errorf("%s %w; it is not used", dir, err)
	}
	if OthersUse(info) {
		return fmt.Errorf("%s is open to other users (mode %v); chmod 700 %s", dir, info.Mode().Perm(), dir)
	}
	return nil
}

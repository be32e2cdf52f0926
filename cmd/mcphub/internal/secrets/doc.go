// Package secrets keeps secrets and gives them to the one who starts a child.
//
// A [Store] keeps them in the keyring of the system (service "mcphub") or in a
// file encrypted by age. If there is no keyring it takes the file, and reports
// why; it reads the keyring first, then the file. A keyring cannot list what it
// holds, so the names stand in an entry of their own. A [Cipher] encrypts other
// files with a key that is such a secret.
//
// The key of the file is made with the first secret. Who has the account has
// both: the encryption protects copies of the file alone.
//
// Concurrency: a Store may be used by any goroutine. Changes hold a lock among
// processes; files are written beside and renamed. Calls to the keyring are made
// one at a time on a goroutine of their own, because they cannot be interrupted:
// one that hangs is given up and keeps the others from hanging too. New starts
// nothing.
//
// It refuses files that others can read, values that are empty or too long, and
// to make a new key while there is a file encrypted to another. Its errors hold
// names and places, never values. A Store caches nothing.
package secrets

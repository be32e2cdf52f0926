package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

const (
	format    = 1  // first byte of a token
	saltSize  = 24 // bytes
	keySize   = 32
	stampSize = 8 // of the time at which it expires, Unix milliseconds
	tagSize   = 16

	// MinSecret is how long a secret for [New] must be, in bytes.
	MinSecret = 32
	// MaxToken is the longest token that is opened, in bytes.
	MaxToken = 1 << 20
)

var (
	// ErrForged is a token that this Sealer did not make for this purpose and
	// binding, or that was altered.
	ErrForged = errors.New("it was not given out here, was altered, or belongs to something else")
	// ErrExpired is a token whose time is over.
	ErrExpired = errors.New("its time is over")
	// ErrTooLong is a payload that no token can hold.
	ErrTooLong = errors.New("it is too long to be sealed")
)

// A Sealer makes tokens and opens them. The zero Sealer opens nothing and panics
// when it is to make one.
type Sealer struct {
	keys atomic.Pointer[[][]byte] // the first seals, all open
	own  []byte                   // of this Sealer alone; nil: none
}

// New makes a Sealer from secrets that several hubs may share: it seals by the first, and
// opens what was sealed by any. So a secret is replaced without a break: first all hubs get
// the new one behind the old one, then before it, then the old one is taken out.
func New(secrets ...[]byte) (*Sealer, error) {
	s := &Sealer{}
	return s, s.Follow(secrets...)
}

// NewRandom makes a Sealer whose tokens open nowhere else. It opens them also when it
// follows other secrets.
func NewRandom() *Sealer {
	s := &Sealer{own: make([]byte, keySize)}
	_, _ = rand.Read(s.own) // never fails: crypto/rand
	s.keys.Store(&[][]byte{s.own})
	return s
}

// NewOf makes a Sealer of a key of 32 random bytes, which opens what any Sealer of the key has made.
func NewOf(key []byte) *Sealer {
	s := &Sealer{own: key}
	s.keys.Store(&[][]byte{s.own})
	return s
}

// Follow puts other secrets instead of the ones that the Sealer had; without any it seals
// as NewRandom has made it. After an error nothing has changed.
func (s *Sealer) Follow(secrets ...[]byte) error {
	var keys [][]byte
	for _, secret := range secrets {
		if len(secret) < MinSecret {
			return fmt.Errorf("a key needs %d bytes at least and has %d", MinSecret, len(secret))
		}
		key, err := hkdf.Key(sha256.New, secret, nil, "mcphub seal 1 key", keySize)
		if err != nil {
			return err
		}
		keys = append(keys, key)
	}
	if s.own != nil {
		keys = append(keys, s.own)
	}
	s.keys.Store(&keys)
	return nil
}

// heldKeys returns the keys; none of the zero Sealer.
func (s *Sealer) heldKeys() [][]byte {
	if s == nil || s.keys.Load() == nil {
		return nil
	}
	return *s.keys.Load()
}

// Seal makes a token. It opens until expires, to the millisecond.
func (s *Sealer) Seal(purpose string, binding []byte, expires time.Time, payload []byte) (string, error) {
	if base64.RawURLEncoding.EncodedLen(1+saltSize+stampSize+len(payload)+tagSize) > MaxToken {
		return "", ErrTooLong
	}
	head := make([]byte, 1+saltSize, 1+saltSize+stampSize+len(payload)+tagSize)
	head[0] = format
	_, _ = rand.Read(head[1:])
	plain := make([]byte, stampSize, stampSize+len(payload))
	binary.BigEndian.PutUint64(plain, uint64(expires.UnixMilli()))
	token := tokenCipher(s.heldKeys()[0], head).Seal(head, make([]byte, 12), append(plain, payload...), boundBytes(purpose, binding))
	return base64.RawURLEncoding.EncodeToString(token), nil
}

// Open returns what Seal was given. The error is [ErrForged], or [ErrExpired]
// if the token is genuine in all else.
func (s *Sealer) Open(purpose string, binding []byte, now time.Time, token string) ([]byte, error) {
	// The decoder would pass over line ends: one token must have one spelling.
	if len(token) > MaxToken || strings.ContainsAny(token, "\r\n") {
		return nil, ErrForged
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) < 1+saltSize+stampSize+tagSize || raw[0] != format {
		return nil, ErrForged
	}
	head := raw[:1+saltSize]
	var plain []byte
	for _, key := range s.heldKeys() {
		if plain, err = tokenCipher(key, head).Open(nil, make([]byte, 12), raw[len(head):], boundBytes(purpose, binding)); err == nil {
			break
		}
	}
	if err != nil || len(plain) < stampSize {
		return nil, ErrForged
	}
	if expires := time.UnixMilli(int64(binary.BigEndian.Uint64(plain))); !now.Before(expires) {
		return nil, ErrExpired
	}
	return plain[stampSize:], nil
}

// tokenCipher returns the cipher of the one token that begins with head; its key is
// used for that token alone, so the nonce may be all zero.
func tokenCipher(of, head []byte) cipher.AEAD {
	key, err := hkdf.Key(sha256.New, of, head, "mcphub seal 1 token", keySize)
	if err != nil {
		panic(err) // of lengths that are constants here
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return aead
}

// boundBytes returns what is authenticated beside the token: the length keeps a
// purpose from running into a binding.
func boundBytes(purpose string, binding []byte) []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(purpose)+len(binding)), uint64(len(purpose)))
	return append(append(b, purpose...), binding...)
}

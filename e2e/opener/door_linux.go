package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// answerTime bounds each wait for the hub.
const answerTime = 5 * time.Second

// connected returns a unix socket that waits for nothing longer than answerTime.
func connected(path string) (fd int, err error) {
	if fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, err
	}
	return fd, unix.Connect(fd, &unix.SockaddrUnix{Name: path})
}

// hello is what an adapter writes first, before the secret.
const hello = "mcphub attach 1 "

// surroundings returns what an adapter sends of itself: the length in four bytes, then texts that each end in NUL. Without options the texts are
// no roots, no log level, no toolsets, the working folder and the environment.
func surroundings(dir string) []byte {
	text := strings.Join(slices.Concat([]string{"", "0", "0", "", "", dir}, os.Environ(), []string{""}), "\x00")
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// door attaches to a shared hub by hand: by the path of its socket and its secret.
func door(path, secret string) (string, error) {
	fd, err := connected(path)
	if err != nil {
		return "", err
	}
	return speakAtDoor(fd, []byte(hello+secret+"\n"))
}

// lentDoor is passed a connection by the one who listens at a socket, and goes on with it: from the start, or if the one
// who has connected is let in already.
func lentDoor(path, secret, begun string) (string, error) {
	fd, err := lent(path)
	if err != nil {
		return "", err
	}
	begin := []byte(hello + secret + "\n")
	if begun == "begun" {
		begin = nil
	}
	return speakAtDoor(fd, begin)
}

// lent returns a descriptor that is passed by the one who listens at a socket.
func lent(path string) (fd int, err error) {
	c, err := connected(path)
	if err != nil {
		return -1, err
	}
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(c, make([]byte, 1), oob, 0)
	for errors.Is(err, unix.EINTR) {
		_, n, _, _, err = unix.Recvmsg(c, make([]byte, 1), oob, 0)
	}
	if err != nil {
		return -1, err
	}
	all, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(all) != 1 {
		return -1, fmt.Errorf("nothing was passed: %w", err)
	}
	fds, err := unix.ParseUnixRights(&all[0])
	if err != nil || len(fds) != 1 {
		return -1, fmt.Errorf("nothing was passed: %w", err)
	}
	return fds[0], nil
}

// speakAtDoor says all that an adapter says, and then a first request on the streams that it has handed over.
func speakAtDoor(fd int, begin []byte) (string, error) {
	wait := unix.NsecToTimeval(answerTime.Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
		return "", err
	}
	hub := bufio.NewReader(descriptor(fd))
	expect := func(say, rights []byte, want string) error {
		if err := unix.Sendmsg(fd, say, rights, nil, unix.MSG_NOSIGNAL); err != nil && !errors.Is(err, unix.EPIPE) {
			return err
		} // a hub that has hung up has said why
		line, err := hub.ReadString('\n')
		if line = strings.TrimSuffix(line, "\n"); line != want {
			return fmt.Errorf("the hub says %q %w", line, err)
		}
		return nil
	}
	if begin != nil {
		if err := expect(begin, nil, "ready"); err != nil {
			return "", err
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	var in, out, said [2]int
	for _, pipe := range []*[2]int{&in, &out, &said} {
		if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
			return "", err
		}
	}
	if err := expect(surroundings(dir), unix.UnixRights(in[0], out[1], said[1]), "ok"); err != nil {
		return "", err
	}
	const request = "go\n"
	if err := unix.Sendmsg(fd, []byte(request), nil, nil, unix.MSG_NOSIGNAL); err != nil {
		return "", err
	}
	_ = unix.Close(out[1])
	first := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"opener","version":"1"}}}` + "\n"
	if _, err := unix.Write(in[1], []byte(first)); err != nil {
		return "", err
	}
	answer := os.NewFile(uintptr(out[0]), "the answer")
	line, err := bufio.NewReader(answer).ReadString('\n')
	return "attached: " + line, err
}

// descriptor is one as a reader.
type descriptor int

func (d descriptor) Read(b []byte) (int, error) {
	n, err := unix.Read(int(d), b)
	for errors.Is(err, unix.EINTR) {
		n, err = unix.Read(int(d), b)
	}
	switch {
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// heldDoor speaks on the connection of a session that is attached already, which the one who listens at a socket passes.
func heldDoor(path string) (string, error) {
	fd, err := lent(path)
	if err != nil {
		return "", err
	}
	if err := unix.Sendmsg(fd, []byte("hup\n"), nil, nil, unix.MSG_NOSIGNAL); err != nil {
		return "", err
	}
	wait := unix.NsecToTimeval(answerTime.Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
		return "", err
	}
	b := make([]byte, 512)
	n, err := descriptor(fd).Read(b)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return fmt.Sprintf("said %q", b[:max(n, 0)]), err
}

// falseDoor listens instead of a hub's socket, and says yes to whatever it is told. It gives what it was handed.
func falseDoor(path string) (string, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return "", err
	}
	if err := unix.Listen(fd, 8); err != nil {
		return "", err
	}
	if err := os.WriteFile("listening", nil, 0o600); err != nil {
		return "", err
	}
	c, _, err := unix.Accept(fd)
	if err != nil {
		return "", err
	}
	b, oob := make([]byte, 1<<20), make([]byte, unix.CmsgSpace(3*4))
	if _, err := unix.Read(c, b); err != nil {
		return "", err
	}
	if _, err := unix.Write(c, []byte("ready\n")); err != nil {
		return "", err
	}
	_, n, _, _, err := unix.Recvmsg(c, b, oob, 0)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("was handed %d bytes of descriptors", n), nil
}

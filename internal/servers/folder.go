// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
)

// janitor removes the folder $1 when its standard input ends, which is when this
// process does. The servers end at the same time, so it tries for up to a minute.
const janitor = `cat >/dev/null; cd /; n=0; while [ $n -lt 120 ]; do rm -rf "$1" 2>/dev/null && exit; n=$((n+1)); sleep 0.5; done`

// root is the folder of all servers of this process, and the janitor's pipe,
// which stays open for as long as this process lives.
var root struct {
	sync.Mutex
	path  string
	pipe  io.WriteCloser
	count int
}

// newFolder makes an empty folder for a server, which this process's user and
// the one of the account own.
func newFolder(name string, account *account) (string, error) {
	root.Lock()
	defer root.Unlock()
	if root.path == "" {
		if err := makeRoot(); err != nil {
			return "", err
		}
	}
	root.count++
	path := filepath.Join(root.path, fmt.Sprintf("%s-%d", name, root.count))
	if err := os.Mkdir(path, 0o700); err != nil {
		return "", err
	}
	return path, account.giveTo(path)
}

func makeRoot() error {
	path, err := os.MkdirTemp("", "kazahana-servers-")
	if err != nil {
		return err
	}
	if err := os.Chmod(path, 0o711); err != nil { // servers run as other users
		return err
	}
	shell := exec.Command("/bin/sh", "-c", janitor, "janitor", path)
	shell.SysProcAttr = ownGroup() // an interrupt at the terminal is not for it
	pipe, err := shell.StdinPipe()
	if err != nil {
		return err
	}
	if err := shell.Start(); err != nil {
		return err
	}
	root.path, root.pipe = path, pipe
	return nil
}

// account is the user that a server runs as; nil is the user of this process.
type account struct{ uid, gid int }

// lookUp returns the account of a server that refuses to run as root: the
// user of that name if this process is root's, otherwise nil.
func lookUp(name string) (*account, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	found, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("servers: as root the server runs as the user %q: %w", name, err)
	}
	uid, err := strconv.Atoi(found.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(found.Gid)
	return &account{uid, gid}, err
}

// giveTo makes the account the owner of a path.
func (a *account) giveTo(path string) error {
	if a == nil {
		return nil
	}
	return os.Chown(path, a.uid, a.gid)
}

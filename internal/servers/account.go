// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
)

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

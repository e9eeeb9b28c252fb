// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync"
)

// creating is held while a file is created: until it is closed, no Store of this process opens it.
var creating sync.Mutex

// makePrivate creates the file for its owner alone if it is not there, and takes
// from everybody else what they may do with an older one and with those that
// SQLite keeps beside it. SQLite gives new files beside it the same mode.
//
// It does not open a file that is there: POSIX drops all locks that a process has on a file
// when the process closes any descriptor of it. Another [Store] of this process would lose
// its own, and a program that closes the file would delete the log that the Store writes.
func makePrivate(path string) error {
	if err := createMissing(path); err != nil {
		return err
	}
	for _, name := range []string{path, path + "-wal", path + "-shm", path + "-journal"} {
		if err := tighten(name); err != nil {
			return fmt.Errorf("everybody may read the secrets of leases, and this process cannot change that (chmod o-rwx %s as its owner): %w", name, err)
		}
	}
	return nil
}

func createMissing(path string) error {
	creating.Lock()
	defer creating.Unlock()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// tighten makes a file that everybody may use one of its owner, or of its group
// if that may write: then the group shares it on purpose.
func tighten(name string) error {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&0o007 == 0 || runtime.GOOS == "windows" {
		return nil
	}
	if err != nil {
		return err
	}
	mode := info.Mode().Perm() &^ 0o007
	if mode&0o020 == 0 {
		mode &^= 0o070
	}
	return os.Chmod(name, mode)
}

// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kazahana-db/kazahana/internal/shell"
)

// writeFile makes a file that appears when it is complete, and is on the disk when writeFile
// returns. It replaces no file, not even one that another process makes while it runs: each call
// writes to a temporary file of its own.
func writeFile(name string, write func(io.Writer) error, syncFolder func(string) error) error {
	if _, err := os.Lstat(name); err == nil {
		return existsError(name)
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.partial")
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = publish(f.Name(), name)
	}
	if err = errors.Join(err, removeIfThere(f.Name())); err != nil {
		return err
	}
	if err = syncFolder(filepath.Dir(name)); err != nil {
		return errors.Join(fmt.Errorf("write the folder of %s to the disk: %w", shell.Argument(name), err), removeIfThere(name))
	}
	return nil
}

// publish gives a complete file its name. A rename would replace a file of that name, so
// a hard link is made; where the file system has none, the file is renamed if there is no
// other one.
func publish(partial, name string) error {
	err := os.Link(partial, name)
	if err == nil {
		return nil
	}
	if _, missing := os.Lstat(name); errors.Is(err, fs.ErrExist) || missing == nil {
		return existsError(name)
	}
	return os.Rename(partial, name)
}

func existsError(name string) error {
	return fmt.Errorf("the file %s exists: remove it, or name another one", shell.Argument(name))
}

func removeIfThere(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

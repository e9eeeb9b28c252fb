// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"errors"
	"io"
	"os"
	"runtime"
)

// ErrNoInput says that a verb has no input to read.
var ErrNoInput = errors.New("there is no input to read here, as it holds the commands of the shell: name a FILE")

// NoInput is the input of the verbs in a script for the shell: each Read fails with
// [ErrNoInput].
var NoInput io.Reader = noInput{}

type noInput struct{}

// Read implements [io.Reader].
func (noInput) Read([]byte) (int, error) { return 0, ErrNoInput }

// SyncFolder writes the names in a folder to the disk. Windows does so by itself, and has no call for it.
func SyncFolder(folder string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// expect returns an error if a store is not there, unless the command may create
// it: a mistyped path must not look like a store without leases.
func (o openOptions) expect(path, missing string) error {
	if o.creates {
		return nil
	}
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is %s: is --leases right? lease serve, lease acquire and id new create what is not there", missing)
	}
	return err
}

// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"errors"
	"os"
	"time"
)

// Fsync returns what it costs to append 256 bytes to a file in dir and to have
// them on the disk: the median of several.
func Fsync(dir string) (cost time.Duration, err error) {
	file, err := os.CreateTemp(dir, "fsync-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	var (
		data  [256]byte
		costs []time.Duration
	)
	for range 21 {
		begin := time.Now()
		if _, err := file.Write(data[:]); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, err
		}
		costs = append(costs, time.Since(begin))
	}
	return Median(costs), nil
}

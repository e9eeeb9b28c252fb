// SPDX-License-Identifier: Apache-2.0

package commitlog

import "errors"

// Close syncs and releases the log, and returns how far it went. The last segment
// is then one without frames, in a file of its own, which says where the one
// before ends.
func (l *Log) Close() (End, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return End{}, l.err
	}
	err := errors.Join(l.syncLocked(), l.removeSpares())
	if err == nil && (l.size > headerSize || l.reused) {
		err = l.beginSegment()
	}
	c := End{Segment: l.number, Version: l.last}
	return c, errors.Join(err, l.releaseLocked())
}

// Release closes the file that is written, and changes nothing.
func (l *Log) Release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.releaseLocked()
}

func (l *Log) releaseLocked() error {
	if l.file == nil {
		return nil
	}
	file := l.file
	l.file = nil
	return file.Close()
}

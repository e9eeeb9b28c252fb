// SPDX-License-Identifier: Apache-2.0

package kv

import (
	"encoding/binary"
	"errors"
)

// errDamaged says that bytes do not come from Encode or Snapshot.
var errDamaged = errors.New("kv: damaged data")

// Command sets a key.
type Command struct {
	Request    uint64 // of the caller
	Key, Value string
}

// Encode returns the command as the data of a log entry.
func (c Command) Encode() []byte {
	data := binary.AppendUvarint(nil, c.Request)
	return appendString(appendString(data, c.Key), c.Value)
}

func decode(data []byte) (c Command, err error) {
	request, n := binary.Uvarint(data)
	if n <= 0 {
		return c, errDamaged
	}
	c.Request, data = request, data[n:]
	if c.Key, data, err = cutString(data); err != nil {
		return c, err
	}
	if c.Value, data, err = cutString(data); err == nil && len(data) > 0 {
		err = errDamaged
	}
	return c, err
}

func appendString(data []byte, s string) []byte {
	return append(binary.AppendUvarint(data, uint64(len(s))), s...)
}

// cutString returns a string and the data after it.
func cutString(data []byte) (string, []byte, error) {
	length, n := binary.Uvarint(data)
	if n <= 0 || uint64(len(data)-n) < length {
		return "", nil, errDamaged
	}
	end := n + int(length)
	return string(data[n:end]), data[end:], nil
}

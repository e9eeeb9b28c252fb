// SPDX-License-Identifier: Apache-2.0

package kv

import (
	"fmt"

	"go.etcd.io/raft/v3/raftpb"
)

// Map is a core.StateMachine. It is not safe for concurrent use. The zero value is an empty map.
type Map struct {
	// Applied, if not nil, is called after each command of the log was applied.
	Applied func(request uint64)

	values map[string]string
}

// Get returns the value of a key.
func (m *Map) Get(key string) (value string, found bool) {
	value, found = m.values[key]
	return value, found
}

// Apply implements core.StateMachine.
func (m *Map) Apply(e *raftpb.Entry) error {
	if len(e.GetData()) == 0 {
		return nil // a leader's term begins
	}
	c, err := decode(e.GetData())
	if err != nil {
		return fmt.Errorf("entry %d: %w", e.GetIndex(), err)
	}
	m.set(c.Key, c.Value)
	if m.Applied != nil {
		m.Applied(c.Request)
	}
	return nil
}

func (m *Map) set(key, value string) {
	if m.values == nil {
		m.values = map[string]string{}
	}
	m.values[key] = value
}

// Snapshot implements core.StateMachine.
func (m *Map) Snapshot() ([]byte, error) {
	var data []byte
	for key, value := range m.values {
		data = appendString(appendString(data, key), value)
	}
	return data, nil
}

// Restore implements core.StateMachine.
func (m *Map) Restore(s *raftpb.Snapshot) error {
	m.values = nil
	for data := s.GetData(); len(data) > 0; {
		var key, value string
		var err error
		if key, data, err = cutString(data); err == nil {
			value, data, err = cutString(data)
		}
		if err != nil {
			return fmt.Errorf("snapshot %d: %w", s.GetMetadata().GetIndex(), err)
		}
		m.set(key, value)
	}
	return nil
}

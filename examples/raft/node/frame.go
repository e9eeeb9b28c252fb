// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/binary"
	"fmt"
	"io"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// maxFrame bounds a message, which has a whole snapshot in it at most.
const maxFrame = 16 << 20

// encodeFrame returns a message as it goes over the wire: its length in four bytes, the greatest first,
// then the protobuf.
func encodeFrame(m *raftpb.Message) ([]byte, error) {
	frame, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, 4, 64), m)
	if err != nil {
		return nil, err
	}
	if len(frame)-4 > maxFrame {
		return nil, fmt.Errorf("node: a %v of %d bytes: at most %d can be sent", m.GetType(), len(frame)-4, maxFrame)
	}
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame, nil
}

// readFrame reads a message.
func readFrame(r io.Reader) (*raftpb.Message, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(head[:])
	if length > maxFrame {
		return nil, fmt.Errorf("node: a frame of %d bytes: at most %d are allowed", length, maxFrame)
	}
	data := make([]byte, length)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, err
	}
	m := new(raftpb.Message)
	return m, proto.Unmarshal(data, m)
}

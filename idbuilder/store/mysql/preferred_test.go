// SPDX-License-Identifier: Apache-2.0

package mysql_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/kazahana-db/kazahana/idbuilder/store/mysql"
)

// Flags of the protocol's handshake.
const (
	protocol41 = 0x200
	ssl        = 0x800
)

// TestPreferredAfterPlaintext checks that a server without TLS, which ssl-mode=preferred
// accepts, does not turn TLS off for the connections after it.
func TestPreferredAfterPlaintext(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer func() { check(t, listener.Close()) }()
	s := openWith(t, mysql.Options{URL: fmt.Sprintf("mysql://u:p@%s/d?ssl-mode=preferred", listener.Addr())})
	for _, offered := range []uint16{0, ssl, 0, ssl} {
		asked := make(chan uint16, 1)
		go func() { asked <- refuse(listener, protocol41|offered) }()
		if _, err := s.Sequence(t.Context(), "a"); err == nil {
			t.Fatal("a server that refuses all connections gave a sequence")
		}
		if got := <-asked; got&ssl != offered {
			t.Errorf("a server that offers TLS (%t) was asked for it: %t", offered != 0, got&ssl != 0)
		}
	}
}

// refuse accepts one connection, offers the flags, and hangs up after the client's
// answer. It returns the flags of that.
func refuse(listener net.Listener, flags uint16) uint16 {
	conn, err := listener.Accept()
	if err != nil {
		return 0
	}
	defer func() { _ = conn.Close() }()
	hello := append([]byte{10, '8', 0}, make([]byte, 4+8+1)...) // version, connection, salt, filler
	hello = binary.LittleEndian.AppendUint16(hello, flags)
	hello = append(hello, make([]byte, 1+2+2+1+10+12+1)...) // collation, status, upper flags, salt and reserved
	hello = append(hello, "mysql_native_password\x00"...)
	var answer [6]byte // length, sequence number, lower flags
	if _, err := conn.Write(append([]byte{byte(len(hello)), 0, 0, 0}, hello...)); err != nil {
		return 0
	}
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return 0
	}
	return binary.LittleEndian.Uint16(answer[4:])
}

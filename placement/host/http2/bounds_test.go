// SPDX-License-Identifier: Apache-2.0

package http2_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/placement/host"
	"github.com/kazahana-db/kazahana/placement/host/http2"
)

func TestPayloadsAreBounded(t *testing.T) {
	called := false
	small := listen(t, http2.Options{MaxPayload: 1000}, func(ctx context.Context, r host.Request) host.Reply { called = true; return echo(ctx, r) })
	large := listen(t, http2.Options{MaxPayload: 4 << 20}, echo)
	check := func(from *http2.Transport, to string, size int) {
		t.Helper()
		reply, err := from.Call(t.Context(), to, host.Request{Payload: make([]byte, size)})
		if err != nil || reply.Status != host.Refused || !errors.Is(reply.Err.Err(), host.ErrTooLarge) {
			t.Fatalf("%d bytes: %+v, %v", size, reply, err)
		}
		var told int
		if _, err := fmt.Sscanf(reply.Err.Message, host.ErrTooLarge.Error()+": %d bytes; at most 1000 are possible", &told); err != nil || told <= 1000 {
			t.Errorf("%d bytes: the error is %q", size, reply.Err.Message)
		}
	}
	check(small, large.Address(), 1001)
	check(large, small.Address(), 1001)
	check(large, small.Address(), 3<<20)
	if called {
		t.Error("the handler got a payload that is too large")
	}
	if reply, err := large.Call(t.Context(), small.Address(), host.Request{Payload: make([]byte, 1000)}); err != nil || len(reply.Payload) != 1000 {
		t.Errorf("a payload at the bound: %v, %v", reply.Status, err)
	}
	huge := listen(t, http2.Options{MaxPayload: 4 << 20}, func(context.Context, host.Request) host.Reply {
		return host.Reply{Status: host.Done, Payload: make([]byte, 3<<20)}
	})
	if _, err := small.Call(t.Context(), huge.Address(), host.Request{}); err == nil || errors.Is(err, host.ErrUnreachable) {
		t.Errorf("a result that is too large: %v", err)
	}
}

func TestRequestsAreBounded(t *testing.T) {
	began, let := make(chan struct{}), make(chan struct{})
	to := listen(t, http2.Options{MaxRequests: 1}, func(context.Context, host.Request) host.Reply {
		close(began)
		<-let
		return host.Reply{Status: host.Done}
	})
	from := listen(t, http2.Options{}, echo)
	first := make(chan error, 1)
	go func() {
		_, err := from.Call(t.Context(), to.Address(), host.Request{})
		first <- err
	}()
	<-began
	reply, err := from.Call(t.Context(), to.Address(), host.Request{})
	if err != nil || reply.Status != host.Refused || !errors.Is(reply.Err.Err(), host.ErrOverloaded) {
		t.Errorf("one more than the bound: %+v, %v", reply, err)
	}
	close(let)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// TestBytesAreBounded: requests that wait for their handler keep no more bytes than the bound, and
// leave room when they end.
func TestBytesAreBounded(t *testing.T) {
	began, let := make(chan struct{}), make(chan struct{})
	to := listen(t, http2.Options{MaxBytes: 5 << 19}, func(ctx context.Context, r host.Request) host.Reply {
		if r.Method == "wait" {
			began <- struct{}{}
			<-let
		}
		return echo(ctx, r)
	})
	from := listen(t, http2.Options{}, echo)
	call := func(method string, size int) error {
		reply, err := from.Call(t.Context(), to.Address(), host.Request{Method: method, Payload: make([]byte, size)})
		if err == nil && reply.Status != host.Done {
			err = reply.Err.Err()
		}
		return err
	}
	waiting := make(chan error, 2)
	for range cap(waiting) {
		go func() { waiting <- call("wait", 1<<20) }()
		<-began
	}
	if err := call("", 1<<20); !errors.Is(err, host.ErrOverloaded) {
		t.Errorf("a third MiB: %v, want ErrOverloaded", err)
	}
	if err := call("", 1000); err != nil {
		t.Errorf("a small request: %v", err)
	}
	close(let)
	for range cap(waiting) {
		if err := <-waiting; err != nil {
			t.Error(err)
		}
	}
	if err := call("", 1<<20); err != nil {
		t.Errorf("after the others have ended: %v", err)
	}
	if err := (http2.Options{MaxBytes: 1 << 20}).Validate(); err == nil {
		t.Error("a bound that is too small for one request is valid")
	}
	if err := (http2.Options{MaxPayload: 1 << 30}).Validate(); err != nil {
		t.Errorf("large payloads with the default bound: %v", err)
	}
}

// TestHeadsOfManyValues: a head is refused before it is decoded if that would make hundreds of
// thousands of values of it. Strings may have any characters.
func TestHeadsOfManyValues(t *testing.T) {
	called := 0
	to := listen(t, http2.Options{}, func(context.Context, host.Request) host.Reply { called++; return host.Reply{} })
	client := &http.Transport{Protocols: new(http.Protocols)}
	client.Protocols.SetUnencryptedHTTP2(true)
	defer client.CloseIdleConnections()
	for _, test := range []struct {
		head    string
		refused bool
	}{
		{`{"chain":[{}` + strings.Repeat(",{}", 340_000) + `]}`, true}, {`{"method":"\"` + strings.Repeat("[{,", 100_000) + `"}`, false},
	} {
		called = 0
		body := append(binary.AppendUvarint(nil, uint64(len(test.head))), test.head...)
		r, err := http.NewRequest("POST", "http://"+to.Address()+"/placement/v1/call", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/vnd.kazahana.placement.v1")
		answer, err := client.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if refused := bytes.Contains(text, []byte("values")); refused != test.refused || (called == 0) != test.refused || err != nil {
			t.Errorf("%.20s: the handler was called %d times, the answer is %q, %v", test.head, called, text, err)
		}
	}
}

// TestGarbage: bytes that are not a request reach no handler.
func TestGarbage(t *testing.T) {
	to := listen(t, http2.Options{}, func(context.Context, host.Request) host.Reply {
		t.Error("the handler was called")
		return host.Reply{}
	})
	client := &http.Transport{Protocols: new(http.Protocols)}
	client.Protocols.SetUnencryptedHTTP2(true)
	defer client.CloseIdleConnections()
	const media = "application/vnd.kazahana.placement.v1"
	for _, test := range []struct {
		method, path, media, body string
		status                    int
	}{
		{"GET", "/placement/v1/call", media, "", http.StatusMethodNotAllowed},
		{"POST", "/", media, "", http.StatusNotFound},
		{"POST", "/placement/v1/call", "text/plain", "", http.StatusUnsupportedMediaType},
		{"POST", "/placement/v1/call", media, "", http.StatusOK}, // refused in the body
		{"POST", "/placement/v1/call", media, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", http.StatusOK},
		{"POST", "/placement/v1/call", media, "\x05{}", http.StatusOK},
		{"POST", "/placement/v1/call", media, "\x02[]", http.StatusOK},
		{"POST", "/placement/v1/call", media, "\x0e{\"timeout\":-1}", http.StatusOK},
		{"POST", "/placement/v1/call", media, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", http.StatusOK},
	} {
		r, err := http.NewRequest(test.method, "http://"+to.Address()+test.path, strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", test.media)
		answer, err := client.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != test.status || err != nil || test.status == http.StatusOK && !bytes.Contains(body, []byte(`"status":3`)) {
			t.Errorf("%+v: %d %q, %v", test, answer.StatusCode, body, err)
		}
	}
}

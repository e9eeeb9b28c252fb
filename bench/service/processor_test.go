// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/bench/measure"
)

const (
	loadURL     = "SERVICE_LOAD_URL" // of the process that sends requests
	loadToken   = "SERVICE_LOAD_TOKEN"
	oneID       = "/v1/id/increment?key=orders&size=1"
	connections = 64
	perRound    = 20_000 // requests
)

// TestMain makes the program a client if a benchmark has started it as one.
func TestMain(m *testing.M) {
	if url := os.Getenv(loadURL); url != "" {
		if err := sendRounds(url); err != nil {
			log.Fatal(err)
		}
		return
	}
	os.Exit(m.Run())
}

// BenchmarkProcessorTime measures the processor time of servers for a request, without that of their clients,
// which are other processes with 64 connections each. The worker's server has the time limits that the command
// sets, and the bare handlers send the bytes that the worker has sent. An operation is a round of each server, one
// after the other.
//
//	cd bench && go test ./service -run xxx -bench ProcessorTime -benchtime 15x
func BenchmarkProcessorTime(b *testing.B) {
	w := open(b, "embedded")
	token := keyToken(b, w)
	bare := answer(b, w, token)
	entrants := []*entrant{
		newEntrant(b, "worker", limited(w), token), newEntrant(b, "bare-with-limits", limited(bare), token),
		newEntrant(b, "bare", httptest.NewUnstartedServer(bare), token),
	}
	for _, e := range entrants {
		e.runRound(b) // opens the connections
	}
	for b.Loop() {
		for _, e := range entrants {
			e.costs = append(e.costs, e.runRound(b))
		}
	}
	for _, e := range entrants {
		b.ReportMetric(measure.Median(e.costs), e.name+"-µs")
	}
	for _, e := range entrants[1:] {
		b.ReportMetric(measure.Median(ratios(e.costs, entrants[0].costs)), e.name+"/worker")
	}
	b.ReportMetric(0, "ns/op")
}

// limited returns a server with the time limits of the command idbuilder.
func limited(h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.Config.ReadHeaderTimeout, s.Config.ReadTimeout = 10*time.Second, 35*time.Second
	s.Config.WriteTimeout, s.Config.IdleTimeout = 40*time.Second, 2*time.Minute
	return s
}

// ratios divides the costs of each round.
func ratios(costs, by []float64) (all []float64) {
	for i := range costs {
		all = append(all, costs[i]/by[i])
	}
	return all
}

// keyToken returns the token of the key.
func keyToken(b *testing.B, w http.Handler) string {
	var reply struct{ Data struct{ Token string } }
	if err := json.Unmarshal([]byte(ask(b, w, "/v1/auth/token?key=orders")), &reply); err != nil {
		b.Fatal(err)
	}
	return reply.Data.Token
}

// answer returns a bare handler, which sends the bytes and the headers that the worker has sent.
func answer(b *testing.B, w http.Handler, token string) http.Handler {
	rec := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, oneID, nil)
	r.Header.Set("Authorization", token)
	w.ServeHTTP(rec, r)
	if rec.Code != http.StatusOK {
		b.Fatal(rec.Body)
	}
	body, header := rec.Body.String(), rec.Header()
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), header)
		_, _ = io.WriteString(w, body)
	})
}

// entrant is a server and its client.
type entrant struct {
	name  string
	begin io.Writer      // of the next round
	ended *bufio.Scanner // a line for each round
	costs []float64      // microseconds for a request, of each round
}

// newEntrant starts a server and its client.
func newEntrant(b *testing.B, name string, server *httptest.Server, token string) *entrant {
	b.Helper()
	server.Start()
	b.Cleanup(server.Close)
	client := exec.Command(os.Args[0])
	client.Env = append(os.Environ(), loadURL+"="+server.URL+oneID, loadToken+"="+token)
	client.Stderr = os.Stderr
	begin, err := client.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	ended, err := client.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := client.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = begin.Close()
		_ = client.Wait()
	})
	return &entrant{name: name, begin: begin, ended: bufio.NewScanner(ended)}
}

// runRound returns the processor time of a request, in microseconds.
func (e *entrant) runRound(b *testing.B) float64 {
	begun := measure.ProcessorTime()
	if _, err := fmt.Fprintln(e.begin); err != nil {
		b.Fatal(err)
	}
	if !e.ended.Scan() {
		b.Fatal("the client has ended")
	}
	return float64((measure.ProcessorTime() - begun).Nanoseconds()) / 1000 / perRound
}

// sendRounds sends a round of requests for each line that it reads, and writes a line after it.
func sendRounds(url string) error {
	transport := &http.Transport{MaxIdleConnsPerHost: connections, DisableCompression: true}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); fmt.Println() {
		var senders sync.WaitGroup
		faults := make(chan error, connections)
		for i := range connections {
			senders.Go(func() { faults <- sendRequests(transport, url, (perRound+i)/connections) })
		}
		senders.Wait()
		for range connections {
			if err := <-faults; err != nil {
				return err
			}
		}
	}
	return nil
}

func sendRequests(transport *http.Transport, url string, n int) error {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", os.Getenv(loadToken))
	for range n {
		response, err := transport.RoundTrip(r)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("the server answered %s", response.Status)
		}
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package fdbkv_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/internal/servers"
	"github.com/kazahana-db/kazahana/internal/testcert"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

// The variables that make TestTLSProcess a process of TestTLS: the cluster file, and the folder of its
// certificate, which may be none.
const (
	tlsClusterVariable = "KAZAHANA_TEST_TLS_CLUSTER"
	tlsFolderVariable  = "KAZAHANA_TEST_TLS_FOLDER"
)

// refresh has processes look for changed certificates every second, not every 12 hours.
const refresh = "tls_cert_refresh_delay_seconds"

// TestTLS uses a cluster with a certificate: a client with the right one, with another one and
// with none; and replaces the certificate of all while they run.
func TestTLS(t *testing.T) {
	good, other := newCertificate(t, t.TempDir()), newCertificate(t, t.TempDir())
	o := tlsOptions(good)
	cluster := servers.StartFoundationDB(t, 1, "--tls-certificate-file", o.CertFile, "--tls-key-file", o.KeyFile, "--tls-ca-file", o.CAFile, "--knob_"+refresh, "1")
	client := startTLS(t, cluster.File, good)
	if answer := client.write(t); answer != "ok" {
		t.Errorf("a client with the cluster's certificate: %s", answer)
	}
	for _, folder := range []string{other, ""} {
		if answer := startTLS(t, cluster.File, folder).write(t); !strings.Contains(answer, "TLS") {
			t.Errorf("a client with the certificate of %q: %s", folder, answer)
		}
	}
	newCertificate(t, good)
	for startTLS(t, cluster.File, good).write(t) != "ok" { // until the server has seen it
		t.Log("a new client waits for the server")
	}
	cluster.Processes[0].Restart(t) // the client needs a new connection
	for client.write(t) != "ok" {
		t.Log("the old client waits for the server")
	}
}

// newCertificate writes a certificate and its key into a folder.
func newCertificate(t *testing.T, folder string) string {
	t.Helper()
	if err := testcert.Write(folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

func tlsOptions(folder string) fdbkv.TLS {
	if folder == "" {
		return fdbkv.TLS{}
	}
	cert := filepath.Join(folder, "cert.pem")
	return fdbkv.TLS{CertFile: cert, KeyFile: filepath.Join(folder, "key.pem"), CAFile: cert}
}

// tlsClient is a process that writes when it is asked.
type tlsClient struct {
	ask     *os.File
	answers *bufio.Scanner
}

func startTLS(t *testing.T, cluster, folder string) *tlsClient {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTLSProcess$")
	cmd.Env = append(os.Environ(), tlsClusterVariable+"="+cluster, tlsFolderVariable+"="+folder)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = read
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = write.Close() // the process ends
		_ = cmd.Wait()
		_ = read.Close()
	})
	return &tlsClient{ask: write, answers: bufio.NewScanner(out)}
}

// write has the process write, and returns "ok" or its error.
func (c *tlsClient) write(t *testing.T) string {
	t.Helper()
	if _, err := c.ask.WriteString("write\n"); err != nil {
		t.Fatal(err)
	}
	for c.answers.Scan() {
		if answer, found := strings.CutPrefix(c.answers.Text(), "answer: "); found {
			return answer
		}
	}
	t.Fatalf("the process has ended: %v", c.answers.Err())
	return ""
}

// TestTLSProcess is one of the processes.
func TestTLSProcess(t *testing.T) {
	cluster := os.Getenv(tlsClusterVariable)
	if cluster == "" {
		t.Skip("TestTLS runs it")
	}
	o := fdbkv.Options{Network: fdbkv.Network{TLS: tlsOptions(os.Getenv(tlsFolderVariable)), Knobs: []string{refresh + "=1"}}}
	db, err := fdbkv.Open(cluster, o)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		answer := "ok"
		if err := firstError(err, func() error { return writeSoon(db) }); err != nil {
			answer = strings.ReplaceAll(err.Error(), "\n", " ")
		}
		fmt.Println("\nanswer: " + answer)
	}
	os.Exit(0)
}

func firstError(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}

// writeSoon writes within three seconds, or fails.
func writeSoon(db kv.Database) error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	return db.Transact(ctx, func(tx kv.Transaction) error {
		tx.Set([]byte("a"), []byte("b"))
		return nil
	})
}

package otlptest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// certificates are made for one server and live as long as its test.
type certificates struct {
	pool                          *x509.CertPool
	leaf                          tls.Certificate
	demand                        bool // a client certificate
	caFile                        string
	clientCertFile, clientKeyFile string
}

// CAFile returns a PEM file with the certificate authority. Only with [WithTLS].
func (s *Server) CAFile() string { return s.mustTLS().caFile }

// ClientCertFiles returns PEM files with a client certificate and its key, signed by the server's
// authority. Only with [WithTLS]; demanded only with [WithClientCert].
func (s *Server) ClientCertFiles() (cert, key string) {
	c := s.mustTLS()
	return c.clientCertFile, c.clientKeyFile
}

// ClientTLS returns a client configuration that trusts the server and shows it a client certificate.
// Only with [WithTLS].
func (s *Server) ClientTLS() *tls.Config {
	c := s.mustTLS()
	pair, err := tls.LoadX509KeyPair(c.clientCertFile, c.clientKeyFile)
	if err != nil {
		panic("otlptest: the server's own client certificate: " + err.Error())
	}
	return &tls.Config{RootCAs: c.pool, Certificates: []tls.Certificate{pair}}
}

func (s *Server) mustTLS() *certificates {
	if s.certs == nil {
		panic("otlptest: this server was started without WithTLS")
	}
	return s.certs
}

func newCertificates(tb testing.TB, demand bool) *certificates {
	tb.Helper()
	dir := tb.TempDir()
	check := func(err error) {
		if err != nil {
			tb.Helper()
			tb.Fatalf("otlptest: make certificates: %v", err)
		}
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		check(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	newKey := func() *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		check(err)
		return key
	}
	template := func(serial int64, name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial),
			Subject:      pkix.Name{CommonName: name},
			NotBefore:    time.Now().Add(-time.Hour),
			NotAfter:     time.Now().Add(24 * time.Hour),
		}
	}

	ca, caKey := template(1, "otlptest authority"), newKey()
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	check(err)
	root, err := x509.ParseCertificate(caDER)
	check(err)

	sign := func(cert *x509.Certificate, usage x509.ExtKeyUsage, file string) (certFile, keyFile string) {
		key := newKey()
		cert.KeyUsage, cert.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{usage}
		der, err := x509.CreateCertificate(rand.Reader, cert, root, key.Public(), caKey)
		check(err)
		keyDER, err := x509.MarshalPKCS8PrivateKey(key)
		check(err)
		return write(file+".pem", "CERTIFICATE", der), write(file+"-key.pem", "PRIVATE KEY", keyDER)
	}

	c := &certificates{pool: x509.NewCertPool(), demand: demand, caFile: write("ca.pem", "CERTIFICATE", caDER)}
	c.pool.AddCert(root)
	server := template(2, "otlptest server")
	server.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	server.DNSNames = []string{"localhost"}
	certFile, keyFile := sign(server, x509.ExtKeyUsageServerAuth, "server")
	c.clientCertFile, c.clientKeyFile = sign(template(3, "otlptest client"), x509.ExtKeyUsageClientAuth, "client")
	c.leaf, err = tls.LoadX509KeyPair(certFile, keyFile)
	check(err)
	return c
}

// server returns a configuration for a listener that speaks the given protocols.
func (c *certificates) server(protocols ...string) *tls.Config {
	cfg := &tls.Config{Certificates: []tls.Certificate{c.leaf}, NextProtos: protocols}
	if c.demand {
		cfg.ClientAuth, cfg.ClientCAs = tls.RequireAndVerifyClientCert, c.pool
	}
	return cfg
}

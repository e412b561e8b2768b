package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/nemo-lens/lens/internal/settings"
)

// maxFile bounds certificate files; the usual bundle of all authorities has 250 KB.
const maxFile = 16 << 20

// tlsConfig loads the files of o, or returns nil for plaintext. A file that cannot
// be used is an error: trust never falls back to the system's authorities.
func tlsConfig(o settings.OTLP) (*tls.Config, error) {
	if o.Insecure {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	var errs []error
	if o.CertificateFile != "" {
		name := o.Names.Certificate
		pem, err := readFile(name, o.CertificateFile)
		if err != nil {
			errs = append(errs, err)
		} else if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(pem) {
			errs = append(errs, fmt.Errorf("lens: %s=%q: the file holds no certificate in PEM form", name, o.CertificateFile))
		}
	}
	if o.ClientCertificateFile != "" || o.ClientKeyFile != "" {
		cert, err := clientCertificate(o)
		errs = append(errs, err)
		c.Certificates = []tls.Certificate{cert}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

func clientCertificate(o settings.OTLP) (tls.Certificate, error) {
	certName := o.Names.ClientCertificate
	keyName := o.Names.ClientKey
	if o.ClientCertificateFile == "" || o.ClientKeyFile == "" {
		return tls.Certificate{}, fmt.Errorf("lens: %s and %s belong together: want both or none", certName, keyName)
	}
	certPEM, certErr := readFile(certName, o.ClientCertificateFile)
	keyPEM, keyErr := readFile(keyName, o.ClientKeyFile)
	if err := errors.Join(certErr, keyErr); err != nil {
		return tls.Certificate{}, err
	}
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("lens: %s=%q with %s=%q: want a certificate and its key in PEM form: %w",
			certName, o.ClientCertificateFile, keyName, o.ClientKeyFile, err)
	}
	return cert, nil
}

func readFile(name, path string) ([]byte, error) {
	fail := func(err error) ([]byte, error) {
		var p *os.PathError
		if errors.As(err, &p) {
			err = p.Err // the path is in the message already
		}
		return nil, fmt.Errorf("lens: %s=%q: %w", name, path, err)
	}
	// A pipe or a device would block or never end.
	info, err := os.Stat(path)
	if err != nil {
		return fail(err)
	}
	if !info.Mode().IsRegular() {
		return fail(errors.New("want a file"))
	}
	f, err := os.Open(path)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return fail(err)
	}
	if len(data) > maxFile {
		return fail(fmt.Errorf("want a file of at most %d MiB", maxFile>>20))
	}
	return data, nil
}

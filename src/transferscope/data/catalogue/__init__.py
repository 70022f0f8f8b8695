"""Real data sets by name: one file each with its addresses, published checksums, licence and decoding.

`CATALOGUE` lists them, `locate` finds one on this computer, `fetch` downloads its missing files, and `read_entry` reads
it. Nothing is downloaded on import. A further data set is one file with an `ENTRY` here, and one line below.
"""

from types import MappingProxyType

from transferscope.data.catalogue import cifar10, digits, fashion_mnist, mnist, svhn, usps
from transferscope.data.catalogue.entry import CatalogueEntry, Decoder, Location, RemoteFile, fetch, locate, read_entry

CATALOGUE: MappingProxyType[str, CatalogueEntry] = MappingProxyType(
    {
        entry.name: entry
        for entry in (mnist.ENTRY, fashion_mnist.ENTRY, usps.ENTRY, svhn.ENTRY, cifar10.ENTRY, digits.ENTRY)
    }
)

__all__ = [
    "CATALOGUE",
    "CatalogueEntry",
    "Decoder",
    "Location",
    "RemoteFile",
    "fetch",
    "locate",
    "read_entry",
]

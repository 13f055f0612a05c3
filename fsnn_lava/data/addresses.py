"""Download addresses of the public data sets, and the MD5 sums of their files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Resource:
    """A file to download into `folder`; if `members` is given, it is an archive, and its matching files are unpacked into `folder`."""

    urls: tuple[str, ...]
    md5: str
    folder: str
    name: str
    members: str = ""


def _idx_files(folder: str, bases: tuple[str, ...], sums: dict[str, str]) -> tuple[Resource, ...]:
    return tuple(Resource(tuple(base + name for base in bases), md5, folder, name) for name, md5 in sums.items())


_NMNIST = "https://data.mendeley.com/public-files/datasets/468j46mzdv/files/"

RESOURCES: dict[str, tuple[Resource, ...]] = {
    "mnist": _idx_files(
        "MNIST/raw",
        ("https://ossci-datasets.s3.amazonaws.com/mnist/", "http://yann.lecun.com/exdb/mnist/"),
        {
            "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
            "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
            "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
            "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
        },
    ),
    "fashion-mnist": _idx_files(
        "FashionMNIST/raw",
        ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
        {
            "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
            "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
            "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
            "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
        },
    ),
    "cifar10": (
        Resource(
            urls=("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
            md5="c32a1d4ab5d03f1284b67883e8d87530",
            folder=".",
            name="cifar-10-binary.tar.gz",
            members=r"cifar-10-batches-bin/\w+\.bin",
        ),
    ),
    "cifar100": (
        Resource(
            urls=("https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",),
            md5="03b5dce01913d631647c71ecec9e9cb8",
            folder=".",
            name="cifar-100-binary.tar.gz",
            members=r"cifar-100-binary/\w+\.bin",
        ),
    ),
    "nmnist": (
        Resource(
            urls=(_NMNIST + "39c25547-014b-4137-a934-9d29fa53c7a0/file_downloaded",),
            md5="20959b8e626244a1b502305a9e6e2031",
            folder="NMNIST",
            name="train.zip",
            members=r"Train/\d/\d+\.bin",
        ),
        Resource(
            urls=(_NMNIST + "05a4d654-7e03-4c15-bdfa-9bb2bcbea494/file_downloaded",),
            md5="69ca8762b2fe404d9b9bad1103e97832",
            folder="NMNIST",
            name="test.zip",
            members=r"Test/\d/\d+\.bin",
        ),
    ),
}
